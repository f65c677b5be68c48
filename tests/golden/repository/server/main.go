package main

// main reads the configuration and serves until it is told to stop.
func main() {
	config := LoadConfig("server.toml")
	server := NewServer(config)
	server.Listen()
}
