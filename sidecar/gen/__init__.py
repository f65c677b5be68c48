"""Generates the files of a checkout that are derived from the tools, the command line and the settings."""
