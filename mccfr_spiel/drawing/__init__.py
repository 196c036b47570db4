"""Trees of small games as pictures, drawn without any other program."""
