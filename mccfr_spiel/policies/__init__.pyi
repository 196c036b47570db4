from . import online_bot

__all__ = ["online_bot"]
