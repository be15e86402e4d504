"""The public record of a conference: loads, scores, criteria, and how they are read from files."""
