package main

// accept takes connections from a listening socket.
func accept(address string) chan Conn {
	return epoll(bind(address))
}
