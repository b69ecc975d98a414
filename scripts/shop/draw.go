package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// product is a row of the shop's products.
type product struct {
	sku, name string
	cents     int
	stock     int
	final     bool
}

var productRow = regexp.MustCompile(`\('([a-z]+-[0-9])', '((?:[^']|'')+)', ([0-9]+), ([0-9]+), ([01])\)`)

// readProducts reads them where they are written down, in the shop's schema.
func readProducts(path string) ([]product, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []product
	for _, m := range productRow.FindAllStringSubmatch(string(b), -1) {
		cents, _ := strconv.Atoi(m[3]) // digits
		stock, _ := strconv.Atoi(m[4])
		all = append(all, product{m[1], strings.ReplaceAll(m[2], "''", "'"), cents, stock, m[5] == "1"})
	}
	if len(all) < 20 {
		return nil, fmt.Errorf("%s: %d products", path, len(all))
	}
	return all, nil
}

// desk draws tickets. What it has given to one it gives to no other.
type desk struct {
	*rand.Rand
	products []product
	numbers  []string // of orders, not used yet
	people   []customer
}

func newDesk(products []product) *desk {
	d := &desk{Rand: rand.New(rand.NewPCG(20260315, 7)), products: products}
	for n := 1000; n < 10000; n++ {
		d.numbers = append(d.numbers, strconv.Itoa(n))
	}
	for _, first := range firstNames {
		for _, last := range lastNames {
			d.people = append(d.people, customer{strings.ToLower(first+"."+last) + "@mail.example", first + " " + last})
		}
	}
	d.Shuffle(len(d.numbers), func(i, j int) { d.numbers[i], d.numbers[j] = d.numbers[j], d.numbers[i] })
	d.Shuffle(len(d.people), func(i, j int) { d.people[i], d.people[j] = d.people[j], d.people[i] })
	return d
}

// draft is a ticket in the making.
type draft struct {
	*desk
	task
	n     int // of its kind, to go through phrasings in turn
	today time.Time
	who   customer
	next  []call // what the reference does
	done  []string
}

// ticket draws a task of a kind.
func (d *desk) ticket(n int, k kind) task {
	t := &draft{desk: d, n: n, today: time.Date(2026, 2, 10, 0, 0, 0, 0, time.UTC).AddDate(0, 0, d.IntN(120))}
	t.Kind = k.name
	t.who = t.customer()
	ask := k.draw(t)
	t.Goal = fmt.Sprintf("From %s, %s.\n\n%s", t.who.Email, day(t.today), ask)
	slices.Sort(t.done)
	what := "nothing"
	if len(t.done) > 0 {
		what = strings.Join(t.done, "; ")
	}
	t.Checks = append(t.Checks, check{"the changes are not just: " + what, "SELECT what = " + quoted(what) + " FROM done"})
	t.Reference = t.next
	for _, c := range t.Seed.Customers {
		t.Facts = append(t.Facts, c.Email)
	}
	for _, o := range t.Seed.Orders {
		t.Facts = append(t.Facts, "order "+o.Number)
	}
	return t.task
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func day(t time.Time) string { return t.Format(time.DateOnly) }

// customer adds a new one.
func (t *draft) customer() customer {
	c := t.people[0]
	t.people = t.people[1:]
	t.Seed.Customers = append(t.Seed.Customers, c)
	return c
}

// order adds one of a customer, with some items, of which the first are given. A delivered one was delivered so many days before
// today, so many days late.
func (t *draft) order(of customer, status string, since, late int, first ...product) order {
	o := order{Number: t.numbers[0], Email: of.Email, Status: status, Address: t.address()}
	t.numbers = t.numbers[1:]
	promised := t.today.AddDate(0, 0, 1+t.IntN(6))
	if status == "delivered" {
		arrived := t.today.AddDate(0, 0, -since)
		promised = arrived.AddDate(0, 0, -late)
		o.Delivered = new(day(arrived))
	}
	o.Promised, o.Ordered = day(promised), day(promised.AddDate(0, 0, -10-t.IntN(5)))
	t.Seed.Orders = append(t.Seed.Orders, o)
	others := slices.DeleteFunc(slices.Clone(t.products), func(p product) bool {
		return p.stock == 0 || slices.Contains(first, p) || p.cents > 10000
	})
	t.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	for _, p := range slices.Concat(first, others[:1+t.IntN(2)]) {
		quantity := 1
		if p.cents < 3000 {
			quantity += t.IntN(2)
		}
		t.Seed.Items = append(t.Seed.Items, item{o.Number, p.sku, quantity, quantity * p.cents})
	}
	return o
}

// noise adds orders that the ticket is not about: of its customer, and of another.
func (t *draft) noise() {
	for range 1 + t.IntN(2) {
		t.order(t.who, pick(t, statuses), 3+t.IntN(60), 0)
	}
	t.order(t.customer(), pick(t, statuses), 3+t.IntN(60), 0)
}

var statuses = []string{"placed", "packed", "shipped", "delivered"}

func (t *draft) address() string {
	return fmt.Sprintf("%d %s, %s", 1+t.IntN(90), pick(t, streets), pick(t, cities))
}

// usual is a product that any order may have.
func (t *draft) usual(fits func(product) bool) product {
	for {
		if p := pick(t, t.products); p.stock > 0 && p.cents < 10000 && !p.final && (fits == nil || fits(p)) {
			return p
		}
	}
}

func pick[T any](t *draft, from []T) T { return from[t.IntN(len(from))] }

// say takes the phrasing whose turn it is, and fills it in: %1 is the first of with, and so on.
func (t *draft) say(phrasings []string, with ...string) string {
	s := phrasings[t.n%len(phrasings)]
	for i, w := range with {
		s = strings.ReplaceAll(s, fmt.Sprintf("%%%d", i+1), w)
	}
	return s
}

// does adds a call to the reference, and what it changes, if anything, to what must have been done.
func (t *draft) does(change, tool string, arguments ...any) {
	c := call{tool, map[string]any{}}
	for i := 0; i < len(arguments); i += 2 {
		c.Arguments[arguments[i].(string)] = arguments[i+1]
	}
	t.next = append(t.next, c)
	if change != "" {
		t.done = append(t.done, change)
	}
}

// looks adds a call that only reads.
func (t *draft) looks(o order) { t.does("", "show_order", "order", o.Number) }

// closes ends the reference, and says how the ticket must be closed. Where nothing was asked to know, any answer will do.
func (t *draft) closes(outcome, answer string) {
	if answer == "" {
		t.does("", "close_ticket", "outcome", outcome)
		t.Checks = append(t.Checks, check{"it is not closed as " + outcome, "SELECT outcome = " + quoted(outcome) + " FROM closed"})
		return
	}
	t.does("", "close_ticket", "outcome", outcome, "answer", answer)
	t.Checks = append(t.Checks, check{"it is not closed as " + outcome + " with " + answer, "SELECT outcome = " + quoted(outcome) + " AND answer = " + quoted(answer) + " FROM closed"})
}
