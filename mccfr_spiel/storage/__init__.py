"""Files and folders: the format of saved objects, atomic writes, locks, rows."""
