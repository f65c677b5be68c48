"""Plain values and protocols that every module may use, by subject. They import nothing else of sidecar but the
settings' defaults.
"""
