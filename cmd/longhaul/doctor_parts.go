package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/workflows"
)

// checkParts tries the store and Temporal, wherever they are. Embedded parts that nobody runs are started for it.
func (a *app) checkParts(ctx context.Context, uri string) []check {
	w := want{Temporal: true, Store: uri}
	if _, err := os.Stat(a.data); errors.Is(err, os.ErrNotExist) {
		return a.checkOutside(ctx, w)
	}
	c, err := a.find(ctx, w)
	if err != nil {
		return []check{verdict("store and Temporal", "", "check TEMPORAL_ADDRESS, LONGHAUL_STORE and --data", err)}
	}
	defer c.Close()
	return slices.Concat(a.checkStore(ctx, c), a.checkTemporal(ctx, c))
}

// checkOutside tries what is not embedded, where there is no data directory yet.
func (a *app) checkOutside(ctx context.Context, w want) (checks []check) {
	const later = "embedded; made with the data directory"
	if a.storeURI(w) == "" {
		checks = append(checks, check{Name: "store", State: fine, Found: later})
	} else if c, err := a.find(ctx, want{Store: w.Store}); err != nil {
		checks = append(checks, verdict("store", "", "check the AWS environment, LONGHAUL_STORE and run.yaml's store", err))
	} else {
		checks = append(checks, a.checkStore(ctx, c)...)
		c.Close()
	}
	if !a.externalTemporal() {
		return append(checks, check{Name: "Temporal", State: fine, Found: later})
	}
	c := &conn{}
	if err := c.dialOutside(a); err != nil {
		return append(checks, verdict("Temporal", "", "check TEMPORAL_ADDRESS and the rest of Temporal's environment", err))
	}
	defer c.Close()
	return append(checks, a.checkTemporal(ctx, c)...)
}

func (a *app) checkStore(ctx context.Context, c *conn) []check {
	name := "store " + c.URI
	err := a.reach(ctx, c.storeAt(a), c.Store.Check)
	mend := "check the AWS environment (AWS_REGION, AWS_ENDPOINT_URL_S3, AWS_ACCESS_KEY_ID ...) and LONGHAUL_STORE"
	switch rl.KindOf(err) {
	case rl.NotFound:
		mend = "make the bucket, or name another in LONGHAUL_STORE or run.yaml's store"
	case rl.Unavailable:
		mend = "is AWS_ENDPOINT_URL_S3 right, and does the server run?"
	}
	checks := []check{verdict(name, "it writes, reads, lists and honours conditional writes", mend, err)}
	if endpoint := a.getenv("AWS_ENDPOINT_URL_S3"); err == nil && c.options.Endpoint == "" && endpoint != "" {
		checks = append(checks, checkClock(ctx, endpoint)...)
	}
	return checks
}

// skewAllowed is what S3 allows between its clock and that of a request: 15 minutes; a third of it is worth a word.
const skewAllowed = 5 * time.Minute

// checkClock holds this machine's clock against the server's Date header. A server that gives none is no news.
func checkClock(ctx context.Context, endpoint string) []check {
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, endpoint, nil)
	if err != nil {
		return nil
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil
	}
	answer.Body.Close()
	theirs, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return nil
	}
	skew := time.Since(theirs).Round(time.Second)
	c := check{Name: "clock", State: fine, Found: fmt.Sprintf("%v from the store's", skew.Abs())}
	if skew.Abs() > skewAllowed {
		c.State, c.Mend = warning, "set this machine's clock: S3 refuses requests that are 15 minutes off"
	}
	return []check{c}
}

func (a *app) checkTemporal(ctx context.Context, c *conn) []check {
	name := "Temporal " + c.address(a)
	server := c.Temporal.WorkflowService()
	var info *workflowservice.GetSystemInfoResponse
	err := a.reach(ctx, name, func(ctx context.Context) (err error) {
		info, err = server.GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
		return err
	})
	if err != nil {
		return []check{verdict(name, "", "is TEMPORAL_ADDRESS right, does the server run, and do TEMPORAL_API_KEY or the TLS settings fit it?", err)}
	}
	checks := []check{{Name: name, State: fine, Found: "it answers, version " + info.ServerVersion}}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	_, err = server.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: c.Namespace})
	checks = append(checks, verdict("namespace "+c.Namespace, "it is there", "create it, or name another in TEMPORAL_NAMESPACE", err))
	if err != nil {
		return checks
	}
	return append(checks, c.checkAttributes(ctx))
}

// checkAttributes looks for the search attributes of runs. Workers add them where they may.
func (c *conn) checkAttributes(ctx context.Context) check {
	const name = "search attributes"
	list, err := c.Temporal.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: c.Namespace})
	if err != nil { // Temporal Cloud has no operator service for its users
		return check{Name: name, State: warning, Found: "they cannot be listed: " + err.Error(), Mend: "make sure that " + attributesWanted() + " exist"}
	}
	var missing []string
	for _, want := range attributes {
		if _, ok := list.CustomAttributes[want]; !ok {
			missing = append(missing, want)
		}
	}
	if len(missing) == 0 {
		return check{Name: name, State: fine, Found: attributesWanted() + " are there"}
	}
	return check{Name: name, State: warning, Found: strings.Join(missing, ", ") + " not there yet",
		Mend: "the first worker adds them; where it may not: temporal operator search-attribute create --name LonghaulRun --type Keyword " +
			"--name LonghaulUpdate --type Int --name LonghaulState --type Keyword"}
}

var attributes = []string{workflows.RunAttribute.GetName(), workflows.UpdateAttribute.GetName(), workflows.StateAttribute.GetName()}

func attributesWanted() string { return strings.Join(attributes, ", ") }

// address is where Temporal is, in words.
func (c *conn) address(a *app) string {
	switch p := c.process(); {
	case p.Temporal != "":
		return p.Temporal + " (embedded)"
	case a.getenv("TEMPORAL_ADDRESS") != "":
		return a.getenv("TEMPORAL_ADDRESS")
	}
	return "of the profile"
}
