// Drives the planner, the registries and the webhook provider of external-dns over the door of a real tenured: directly and
// through the sidecar, with the registries txt and noop. externaldns BINARY
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	log "github.com/sirupsen/logrus"

	"sigs.k8s.io/external-dns/endpoint"
	"sigs.k8s.io/external-dns/pkg/apis/externaldns"
	"sigs.k8s.io/external-dns/plan"
	"sigs.k8s.io/external-dns/provider"
	"sigs.k8s.io/external-dns/provider/webhook"
	"sigs.k8s.io/external-dns/registry"
	"sigs.k8s.io/external-dns/registry/noop"
	"sigs.k8s.io/external-dns/registry/txt"
)

var passed int

func must(what string, err error) {
	if err != nil {
		fail("%s: %v", what, err)
	}
}

func fail(format string, arguments ...any) {
	fmt.Printf("external-dns: "+format+"\n", arguments...)
	stopAll()
	os.Exit(1)
}

func expect(what string, ok bool, got any) {
	if !ok {
		fail("%s: got %v", what, got)
	}
	passed++
}

// Client is external-dns with one source that is a list.
type Client struct {
	registry registry.Registry
	owner    string
	types    []string
}

// Outcome of one run.
type Outcome struct {
	changed bool
	err     error
}

// RunOnce does what controller.RunOnce does between its metrics: the package itself imports every provider.
func (c *Client) RunOnce(desired ...*endpoint.Endpoint) Outcome {
	ctx := context.Background()
	current, err := c.registry.Records(ctx)
	if err != nil {
		return Outcome{err: err}
	}
	ctx = context.WithValue(ctx, provider.RecordsContextKey, current)
	adjusted, err := c.registry.AdjustEndpoints(copies(desired))
	if err != nil {
		return Outcome{err: err}
	}
	planned := (&plan.Plan{
		Policies:       []plan.Policy{&plan.SyncPolicy{}},
		Current:        current,
		Desired:        adjusted,
		DomainFilter:   endpoint.MatchAllDomainFilters{c.registry.GetDomainFilter()},
		ManagedRecords: c.types,
		OwnerID:        c.registry.OwnerID(),
	}).Calculate()
	if !planned.Changes.HasChanges() {
		return Outcome{}
	}
	return Outcome{changed: true, err: c.registry.ApplyChanges(ctx, planned.Changes)}
}

func copies(all []*endpoint.Endpoint) []*endpoint.Endpoint {
	made := make([]*endpoint.Endpoint, 0, len(all))
	for _, one := range all {
		made = append(made, one.DeepCopy())
	}
	return made
}

// works: the changes are made. rests: there is nothing to do. soft: an error that leaves the process alive.
func (c *Client) works(what string, desired ...*endpoint.Endpoint) {
	got := c.RunOnce(desired...)
	expect(what, got.changed && got.err == nil, got)
}

func (c *Client) rests(what string, desired ...*endpoint.Endpoint) {
	before := revision()
	for cycle := 2; cycle <= 3; cycle++ {
		got := c.RunOnce(desired...)
		expect(fmt.Sprintf("%s: cycle %d has nothing to do", what, cycle), !got.changed && got.err == nil, got)
	}
	expect(what+": nothing was written", revision() == before, revision())
}

func (c *Client) soft(what string, desired ...*endpoint.Endpoint) {
	got := c.RunOnce(desired...)
	expect(what, errors.Is(got.err, provider.SoftError), got)
}

func endpointOf(name, kind string, targets ...string) *endpoint.Endpoint {
	one := endpoint.NewEndpoint(name, kind, targets...)
	one.Labels[endpoint.ResourceLabelKey] = "ingress/shop/" + name
	return one
}

// Kind of registry with its settings.
type Kind struct {
	name  string
	setup func(*externaldns.Config)
}

func client(base, owner string, kind Kind) *Client {
	config := externaldns.NewConfig()
	config.WebhookProviderURL = base
	config.WebhookProviderReadTimeout, config.WebhookProviderWriteTimeout = 5*time.Second, 10*time.Second
	config.TXTOwnerID = owner
	config.ManagedDNSRecordTypes = []string{"A", "AAAA", "CNAME"}
	kind.setup(config)
	found, err := webhook.New(context.Background(), config, nil)
	must("the webhook provider", err)
	var made registry.Registry
	if kind.name == "noop" {
		made, err = noop.New(config, found)
	} else {
		made, err = txt.New(config, found)
	}
	must("the registry", err)
	return &Client{registry: made, owner: owner, types: config.ManagedDNSRecordTypes}
}

func kinds() []Kind {
	return []Kind{
		{"txt", func(*externaldns.Config) {}},
		{"noop", func(*externaldns.Config) {}},
		{"txt with a prefix", func(c *externaldns.Config) { c.TXTPrefix, c.TXTWildcardReplacement = "%{record_type}-x.", "any" }},
		{"txt with a suffix", func(c *externaldns.Config) { c.TXTSuffix = "-x" }},
		{"txt encrypted", func(c *externaldns.Config) {
			c.TXTEncryptEnabled, c.TXTEncryptAESKey = true, "01234567890123456789012345678901"
		}},
	}
}

// scenarios are those of one client in a zone of its own.
func scenarios(zone, owner string, c *Client) {
	a, aaaa := endpointOf(zone, "A", "192.0.2.10"), endpointOf(zone, "AAAA", "2001:db8::10")
	c.works("A and AAAA at the apex of a delegated zone", a, aaaa)
	expect("A is served", answers(zone, "A") == "192.0.2.10", answers(zone, "A"))
	expect("AAAA is served", answers(zone, "AAAA") == "2001:db8::10", answers(zone, "AAAA"))
	c.rests("both are owned", a, aaaa)
	c.works("the target of A is gone", aaaa)
	expect("A is gone", answers(zone, "A") == "", answers(zone, "A"))
	c.works("and comes back", a, aaaa)
	c.works("A changes", endpointOf(zone, "A", "192.0.2.11"), aaaa)
	c.works("an apex CNAME takes the place of both", endpointOf(zone, "CNAME", "edge.example.net"))
	c.rests("it is an ALIAS, and shown as a CNAME", endpointOf(zone, "CNAME", "edge.example.net"))
	c.works("and back", a, aaaa)
	long := strings.Repeat("x", 63) + "." + zone
	all := []*endpoint.Endpoint{a, aaaa, endpointOf(long, "CNAME", "edge.example.net"), endpointOf("*."+zone, "A", "192.0.2.12"),
		endpointOf("www."+zone, "CNAME", "edge.example.net").WithProviderSpecific("alias", "true")}
	c.works("a label of 63, a wildcard and an alias", all...)
	expect("the wildcard", answers("any."+zone, "A") == "192.0.2.12", answers("any."+zone, "A"))
	c.rests("all of them are owned", all...)

	other := "team-" + owner
	apply(other, "taken."+zone, "AAAA", "2001:db8::66")
	blocked := append(slices.Clone(all), endpointOf("taken."+zone, "A", "192.0.2.13"), endpointOf("taken."+zone, "AAAA", "2001:db8::13"))
	c.works("somebody else's AAAA blocks only AAAA", blocked...)
	expect("A is there", answers("taken."+zone, "A") == "192.0.2.13", answers("taken."+zone, "A"))
	expect("AAAA is theirs", answers("taken."+zone, "AAAA") == "2001:db8::66", answers("taken."+zone, "AAAA"))
	c.rests("it waits", blocked...)
	clear(other)
	expect("served when they let go", answers("taken."+zone, "AAAA") == "2001:db8::13", answers("taken."+zone, "AAAA"))
	c.rests("owned then", blocked...)

	many := slices.Clone(blocked)
	for at := range 40 {
		many = append(many, endpointOf(fmt.Sprintf("h%d.%s", at, zone), "A", "192.0.2.14"))
	}
	c.works("forty more", many...)
	c.soft("an emptied source is a soft error")
	expect("and served", answers("h7."+zone, "A") == "192.0.2.14", answers("h7."+zone, "A"))
	got := c.RunOnce(many...)
	expect("desired again, it leaves the hold", !got.changed && got.err == nil, got)
	c.rests("and rests", many...)
	c.soft("emptied again")
	approve("externaldns:" + owner)
	expect("approved, it is gone", answers("h7."+zone, "A") == "", answers("h7."+zone, "A"))
	c.rests("nothing is left")
	expect("no TXT anywhere", !strings.Contains(string(api("GET", "/v1/records?type=TXT", nil)), "heritage"), "heritage")
}

func main() {
	log.SetOutput(io.Discard)
	if len(os.Args) != 2 {
		fail("externaldns BINARY")
	}
	start(os.Args[1])
	defer stopAll()
	for at, kind := range kinds() {
		for way, through := range []bool{false, true} {
			owner := fmt.Sprintf("c%d%d", at, way)
			zone := owner + ".example.com"
			api("PUT", "/v1/zones/"+zone+".", []byte("{}"))
			token := tokenOf(owner)
			base := fmt.Sprintf("http://any:%s@%s/externaldns/%s", token, serverHTTP, owner)
			if through {
				base = "http://" + proxy(token, owner)
			}
			scenarios(zone, owner, client(base, owner, kind))
		}
	}
	outage()
	fmt.Printf("external-dns: %d passed, 0 failed\n", passed)
}

// outage kills the server between and within cycles, behind the sidecar.
func outage() {
	api("PUT", "/v1/zones/outage.example.com.", []byte("{}"))
	c := client("http://"+proxy(tokenOf("outage"), "outage"), "outage", kinds()[0])
	of := func(count int) []*endpoint.Endpoint {
		var all []*endpoint.Endpoint
		for at := range count {
			all = append(all, endpointOf(fmt.Sprintf("h%d.outage.example.com", at), "A", "192.0.2.1"))
		}
		return all
	}
	c.works("before", of(3)...)
	for round := range 3 {
		count := 50 + round
		done := make(chan Outcome, 1)
		go func() { done <- c.RunOnce(of(count)...) }()
		time.Sleep(time.Duration(round*15) * time.Millisecond)
		kill()
		got := <-done
		expect("killed within a cycle", got.err == nil || errors.Is(got.err, provider.SoftError), got)
		c.soft("while it is away", of(count)...)
		restart()
		got = c.RunOnce(of(count)...)
		expect("the next cycle converges", got.err == nil, got)
		c.rests("and rests", of(count)...)
		name := fmt.Sprintf("h%d.outage.example.com", count-1)
		expect("served", answers(name, "A") == "192.0.2.1", answers(name, "A"))
	}
}

func apply(owner, name, kind, value string) {
	body := fmt.Sprintf(`{"records":[{"name":"%s.","type":"%s","values":["%s"]}]}`, name, kind, value)
	api("PUT", "/v1/owners/"+owner+"/records", []byte(body))
}

func clear(owner string) { api("PUT", "/v1/owners/"+owner+"/records", []byte(`{"records":[]}`)) }

func approve(owner string) {
	var holds struct{ Items []struct{ ID string } }
	must("holds", json.Unmarshal(api("GET", "/v1/holds?owner="+url.QueryEscape(owner), nil), &holds))
	expect("one hold", len(holds.Items) == 1, holds)
	api("POST", "/v1/holds/"+holds.Items[0].ID+"/approve", nil)
}

func tokenOf(owner string) string {
	var token struct{ Token string }
	must("a token", json.Unmarshal(api("POST", "/v1/tokens", []byte(`{"door":"externaldns","name":"`+owner+`"}`)), &token))
	return token.Token
}

func revision() uint64 {
	var list struct{ Revision uint64 }
	must("a revision", json.Unmarshal(api("GET", "/v1/conflicts", nil), &list))
	return list.Revision
}

// answers asks over DNS: addresses in order, or nothing.
func answers(name, kind string) string {
	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", serverDNS)
	}}
	network := map[string]string{"A": "ip4", "AAAA": "ip6"}[kind]
	found, err := resolver.LookupIP(context.Background(), network, name+".")
	var none *net.DNSError
	if err != nil && !errors.As(err, &none) {
		fail("DNS %s %s: %v", name, kind, err)
	}
	var shown []string
	for _, one := range found {
		shown = append(shown, one.String())
	}
	slices.Sort(shown)
	return strings.Join(shown, " ")
}

func api(method, path string, body []byte) []byte {
	request, err := http.NewRequest(method, "http://"+serverHTTP+path, bytes.NewReader(body))
	must("a request", err)
	request.Header.Set("Authorization", "Bearer "+adminToken())
	response, err := http.DefaultClient.Do(request)
	must(method+" "+path, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(path, err)
	if response.StatusCode >= 300 {
		fail("%s %s: %d %s", method, path, response.StatusCode, text)
	}
	return text
}
