"""The actions of Peerveil, shared by the command line and the page."""
