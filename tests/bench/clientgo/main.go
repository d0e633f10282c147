// Cycles of add, get and done through client-go's work queue: a peer of `hack/bench workqueue`.
// Arguments: threads, keys. Prints nanoseconds a key, best of five rounds.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

func round(threads, keys int) time.Duration {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[int]())
	var workers sync.WaitGroup
	begun := time.Now()
	for thread := range threads {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for i := range keys / threads {
				queue.Add(thread*keys + i)
				key, _ := queue.Get()
				queue.Done(key)
			}
		}()
	}
	workers.Wait()
	spent := time.Since(begun)
	queue.ShutDown()
	return spent
}

func main() {
	threads, _ := strconv.Atoi(os.Args[1])
	keys, _ := strconv.Atoi(os.Args[2])
	best := round(threads, keys)
	for range 4 {
		best = min(best, round(threads, keys))
	}
	fmt.Println(best.Nanoseconds() / int64(keys))
}
