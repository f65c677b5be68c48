package main

// Workers runs a fixed number of goroutines that take jobs from a queue.
type Workers struct {
	jobs chan Job
}

func NewWorkers(count int) *Workers {
	return start(count)
}

func (w *Workers) Submit(job Job) { w.jobs <- job }

func (w *Workers) Drain() { close(w.jobs) }
