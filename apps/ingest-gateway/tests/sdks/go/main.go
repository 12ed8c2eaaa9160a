// Makes calls of each kind with Segment's client for Go: main URL KEY RUN CALLS
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"

	analytics "github.com/segmentio/analytics-go/v3"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Waits for the delivery of each message, because the client gives up its retries when it is closed.
type deliveries struct{ sync.WaitGroup }

func (d *deliveries) Success(analytics.Message) { d.Done() }

func (d *deliveries) Failure(_ analytics.Message, err error) { must(err) }

func main() {
	url, key, run := os.Args[1], os.Args[2], os.Args[3]
	calls, err := strconv.Atoi(os.Args[4])
	must(err)
	delivered := &deliveries{}
	delivered.Add(6 * calls)
	client, err := analytics.NewWithConfig(key, analytics.Config{Endpoint: url, Callback: delivered})
	must(err)
	for n := 0; n < calls; n++ {
		user, visitor := fmt.Sprintf("%s-user-%d", run, n), fmt.Sprintf("%s-visitor-%d", run, n)
		properties := analytics.Properties{"run": run, "n": n}
		must(client.Enqueue(analytics.Track{Event: "sdk_track", AnonymousId: visitor, Properties: properties}))
		must(client.Enqueue(analytics.Page{Name: "Sale", AnonymousId: visitor, Properties: properties}))
		must(client.Enqueue(analytics.Screen{Name: "Sale", AnonymousId: visitor, Properties: properties}))
		must(client.Enqueue(analytics.Identify{UserId: user, AnonymousId: visitor, Traits: analytics.Traits{"n": n}}))
		must(client.Enqueue(analytics.Group{UserId: user, GroupId: "acme", Traits: analytics.Traits{"run": run, "n": n}}))
		must(client.Enqueue(analytics.Alias{PreviousId: fmt.Sprintf("%s-previous-%d", run, n), UserId: user}))
	}
	delivered.Wait()
	must(client.Close())
}
