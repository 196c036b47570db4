"""What the online bot learns at its infosets, and how that goes into a file."""
