package main

import (
	"fmt"
	"strconv"
	"strings"
)

// kind draws tickets of one kind, and returns what the customer writes.
type kind struct {
	name string
	draw func(t *draft) string
}

// kinds, from easy to hard.
var kinds = []kind{
	{"status", status}, {"lookup", lookup}, {"cancel", cancel}, {"address", address}, {"refund", refund},
	{"refund_refused", refundRefused}, {"change_refused", changeRefused}, {"not_yours", notYours}, {"late", late}, {"several", several},
}

// status asks where an order is.
func status(t *draft) string {
	o := t.order(t.who, pick(t, append(statuses, "cancelled")), 2+t.IntN(40), 0)
	if t.IntN(2) == 0 {
		t.noise()
	}
	t.does("", "track_order", "order", o.Number)
	t.closes("done", o.Status)
	return t.say([]string{"where is order %1?", "where is order %1? Its status, please.", "order %1: what is its status?"}, o.Number)
}

// lookup asks for a fact of an order or of its customer.
func lookup(t *draft) string {
	p := t.usual(nil)
	o := t.order(t.who, "delivered", 3+t.IntN(40), t.IntN(4), p)
	t.noise()
	paid, mine := 0, 0
	for _, i := range t.Seed.Items {
		if i.Number == o.Number {
			paid += i.Cents
		}
	}
	for _, one := range t.Seed.Orders {
		if one.Email == t.who.Email {
			mine++
		}
	}
	facts := []struct{ ask, answer string }{
		{"On which day was order %1 promised to arrive?", o.Promised},
		{"I need for my files on which day order %1 arrived.", *o.Delivered},
		{"What did I pay for order %1, all items together?", money(paid)},
		{"What did I pay for the %3 (%2) in order %1?", money(t.Seed.Items[0].Cents)},
		{"How many orders do you have of me in all?", strconv.Itoa(mine)},
		{"How many pieces of %2 did I buy in order %1?", strconv.Itoa(t.Seed.Items[0].Quantity)},
		{"How many days late was order %1? A number will do, 0 if it was on time.", strconv.Itoa(lateness(o))},
	}
	f := facts[t.n%len(facts)]
	if strings.Contains(f.ask, "%1") {
		t.looks(o)
	} else {
		t.does("", "find_customer", "email", t.who.Email)
	}
	t.closes("done", f.answer)
	return t.say([]string{f.ask}, o.Number, p.sku, p.name)
}

func money(cents int) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }

// cancel is of an order that may be cancelled; some do not know its number.
func cancel(t *draft) string {
	p := t.usual(nil)
	o := t.order(t.who, "placed", 0, 0, p)
	t.order(t.who, pick(t, []string{"shipped", "delivered"}), 5+t.IntN(50), 0)
	t.order(t.customer(), "placed", 0, 0)
	t.does("", "find_customer", "email", t.who.Email)
	t.looks(o)
	t.does("cancel "+o.Number, "cancel_order", "order", o.Number)
	t.closes("done", "")
	return t.say([]string{
		"Please cancel order %1.", "I have changed my mind about order %1. Cancel it, please.", "Please cancel my order that has not been packed yet; I do not have the number here.",
		"I ordered twice by mistake. %1 is the one too many, please cancel it and leave the other as it is.", "Cancel %1 for me, will you? Thanks.",
	}, o.Number)
}

// address is of an order that has not left the house.
func address(t *draft) string {
	o := t.order(t.who, pick(t, []string{"placed", "packed"}), 0, 0)
	t.order(t.who, "shipped", 0, 0)
	t.order(t.customer(), "placed", 0, 0)
	to := t.address()
	t.looks(o)
	t.does("move "+o.Number+" to "+quoted(to), "move_order", "order", o.Number, "address", to)
	t.closes("done", "")
	return t.say([]string{
		"I am moving. Please send order %1 to this address: %2", "Order %1 has a wrong address. The right one is: %2",
		"Can order %1 go to my office? The address: %2", "Please change the address of my order that has not been shipped yet (it is %1) to: %2", "New address for %1, please: %2",
	}, o.Number, to)
}

// refund is of an item that may be refunded, here or by a supervisor.
func refund(t *draft) string {
	p := t.usual(nil)
	expensive := t.n%3 == 2
	for expensive && p.cents < 20000 {
		p = pick(t, t.products)
	}
	o := t.order(t.who, "delivered", 2+t.IntN(26), 0, p)
	t.order(t.who, pick(t, statuses), 40+t.IntN(30), 0)
	t.order(t.customer(), "delivered", 5, 0, p)
	t.looks(o)
	if expensive {
		t.does("escalate "+o.Number, "escalate_order", "order", o.Number, "reason", "refund of "+p.sku)
		t.closes("escalated", "")
	} else {
		t.does("refund "+o.Number+" "+p.sku, "refund_item", "order", o.Number, "product", p.sku)
		t.closes("done", "")
	}
	return t.say([]string{
		"I do not like the %3 (%2) of order %1. I would like my money back for it.", "Please refund %2 of order %1; I will keep the rest.", "The %3 from order %1 does not work as I hoped. Refund, please.",
		"Order %1: the %3 came with a scratch. I want a refund for it, not a new one.", "I sent %2 of order %1 back to you. Please pay me back what it cost.",
	}, o.Number, p.sku, p.name)
}
