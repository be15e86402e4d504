"""The public record of a conference: loads, criteria, parts, tracks, and reading public files."""
