"""Plain values and protocols that every module may use, by subject. Of sidecar they import only the settings'
defaults."""
