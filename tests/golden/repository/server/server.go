package main

// Server accepts connections and hands each to a worker.
type Server struct {
	config Config
	workers *Workers
}

func NewServer(config Config) *Server {
	return &Server{config: config, workers: NewWorkers(8)}
}

// Listen accepts until Shutdown.
func (s *Server) Listen() {
	for conn := range accept(s.config.Address) {
		s.workers.Submit(conn)
	}
}

// Shutdown waits for running requests, then closes.
func (s *Server) Shutdown() {
	s.workers.Drain()
}
