package main

// Config says where to listen and for how long to wait.
type Config struct {
	Address string
	Timeout int
}

// LoadConfig reads a TOML file; environment variables override it.
func LoadConfig(path string) Config {
	return override(parse(path))
}
