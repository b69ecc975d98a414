// Shop writes the tasks of the shop's support desk:
//
//	go run ./scripts/shop > envs/sqlite/shop/tasks.jsonl
//
// Ten kinds of tickets (kinds.go), easy ones first: 15 of each to train on and 5 to evaluate with, and beside them tickets of
// the first kind that the embedded policy is shown before a run. Everything is drawn from one seed (draw.go), so that the file is
// the same wherever it is made, which a test holds it to. No two tasks share a customer or an order. Days are drawn away from the
// rules' limits, so that no ticket is about which day counts.
package main

import (
	"bufio"
	"encoding/json"
	"io"
	"log"
	"os"
)

// How many tasks of a kind there are.
const (
	trained   = 15
	evaluated = 5
	shown     = 60 // of the first kind
)

// task is a line of tasks.jsonl; see package envs/sqlite.
type task struct {
	Split     string   `json:"split"`
	Kind      string   `json:"kind"`
	Goal      string   `json:"goal"`
	Seed      seed     `json:"seed"`
	Checks    []check  `json:"checks"`
	Facts     []string `json:"facts"`
	Reference []call   `json:"reference"`
	Vary      []string `json:"vary,omitempty"` // of a shown one: the number of its order
}

type seed struct {
	Customers []customer `json:"customers"`
	Orders    []order    `json:"orders"`
	Items     []item     `json:"items"`
	Vouchers  []voucher  `json:"vouchers,omitempty"`
}

type customer struct {
	Email string `json:"email"`
	Name  string `json:"name"`
}

type order struct {
	Number    string  `json:"number"`
	Email     string  `json:"email"`
	Status    string  `json:"status"`
	Ordered   string  `json:"ordered"`
	Promised  string  `json:"promised"`
	Delivered *string `json:"delivered,omitempty"`
	Address   string  `json:"address"`
}

type item struct {
	Number   string `json:"number"`
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
	Cents    int    `json:"cents"`
}

type voucher struct {
	Number  string `json:"number"`
	Dollars int    `json:"dollars"`
	Before  int    `json:"before"`
}

type check struct {
	Why string `json:"why"`
	SQL string `json:"sql"`
}

type call struct {
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
}

func main() {
	log.SetFlags(0)
	products, err := readProducts("envs/sqlite/shop/schema.sql")
	if err == nil {
		err = write(os.Stdout, products)
	}
	if err != nil {
		log.Fatal("shop: ", err)
	}
}

// write writes all tasks.
func write(to io.Writer, products []product) error {
	out := bufio.NewWriter(to)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	d := newDesk(products)
	for _, split := range []struct {
		name        string
		kinds       []kind
		first, last int // of their numbers, by which they go through phrasings and cases in turn
	}{{"train", kinds, 0, trained}, {"eval", kinds, trained, trained + evaluated}, {"warm_up", kinds[:1], 0, shown}} {
		for _, k := range split.kinds {
			for i := split.first; i < split.last; i++ {
				t := d.ticket(i, k)
				if t.Split = split.name; t.Split == "warm_up" {
					t.Vary = []string{t.Seed.Orders[0].Number}
				}
				if err := lines.Encode(t); err != nil {
					return err
				}
			}
		}
	}
	return out.Flush()
}
