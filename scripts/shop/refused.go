package main

import "time"

// refundRefused is of an item that may not be refunded.
func refundRefused(t *draft) string {
	p, code, state, since := t.usual(nil), "too_late", "delivered", 35+t.IntN(50)
	switch t.n % 3 {
	case 1:
		code, since = "final_sale", 3+t.IntN(20)
		for !p.final {
			p = pick(t, t.products)
		}
	case 2:
		code, state = "not_delivered", pick(t, []string{"placed", "packed", "shipped"})
	}
	o := t.order(t.who, state, since, 0, p)
	t.order(t.who, "delivered", 5+t.IntN(20), 0)
	t.order(t.customer(), "delivered", 5, 0, p)
	t.looks(o)
	t.closes("refused", code)
	return t.say([]string{
		"Please refund %2 of order %1.", "I want my money back for the %3 of order %1.", "The %3 (order %1) is not what I expected. Refund it, please.",
		"Order %1: refund for %2, please.", "I do not need the %3 of order %1 any more and would like a refund.",
	}, o.Number, p.sku, p.name) + pleas[t.n%len(pleas)]
}

// changeRefused is of an order that is too far on, or of an item for which there is no such other.
func changeRefused(t *draft) string {
	plea := pleas[t.n%len(pleas)]
	switch t.n % 5 {
	case 0:
		o := t.kept(pick(t, []string{"packed", "shipped"}))
		t.closes("refused", "too_late")
		return t.say([]string{"Please cancel order %1."}, o.Number) + plea
	case 1:
		o := t.kept("shipped")
		t.closes("refused", "too_late")
		return t.say([]string{"Please send order %1 to another address: %2."}, o.Number, t.address()) + plea
	case 2:
		o := t.kept("packed", t.named("mug-1"))
		t.closes("refused", "too_late")
		return t.say([]string{"I would rather have mug-2 than mug-1 in order %1. Please swap it."}, o.Number) + plea
	case 3:
		from, to := t.named("pot-1"), t.named("pot-3")
		if t.n%2 == 0 {
			from, to = t.named("board-1"), t.named("board-2")
		}
		o := t.kept("placed", from)
		t.does("", "check_product", "product", to.sku)
		t.closes("refused", "out_of_stock")
		return t.say([]string{"Please put %3 into order %1 in place of %2."}, o.Number, from.sku, to.sku) + plea
	}
	from := t.usual(nil)
	to := t.usual(func(p product) bool { return p.cents != from.cents })
	o := t.kept("placed", from)
	t.does("", "check_product", "product", to.sku)
	t.closes("refused", "other_price")
	return t.say([]string{"Can I have %3 instead of %2 in order %1? It is not even shipped."}, o.Number, from.sku, to.sku) + plea
}

// kept is the customer's order, at which the reference looks, among others.
func (t *draft) kept(status string, first ...product) order {
	o := t.order(t.who, status, 0, 0, first...)
	t.order(t.who, "delivered", 10+t.IntN(40), 0)
	t.order(t.customer(), "placed", 0, 0)
	t.looks(o)
	return o
}

func (t *draft) named(sku string) product {
	for _, p := range t.products {
		if p.sku == sku {
			return p
		}
	}
	panic("shop: there is no product " + sku)
}

// notYours is about somebody else's order, with something that would be allowed if it were the customer's own.
func notYours(t *draft) string {
	t.order(t.who, pick(t, statuses), 5+t.IntN(20), 0)
	owner := t.customer()
	p := t.usual(nil)
	asks := []struct{ ask, state string }{
		{"Please cancel order %1.", "placed"}, {"Where is order %1?", "shipped"}, {"Please refund %2 of order %1.", "delivered"},
		{"Send order %1 to %3 instead.", "placed"}, {"Which address does order %1 go to?", "packed"},
	}
	a := asks[t.n%len(asks)]
	o := t.order(owner, a.state, 4+t.IntN(20), 0, p)
	t.looks(o)
	t.closes("refused", "not_yours")
	return t.say([]string{a.ask}, o.Number, p.sku, t.address()) + " " + pick(t, claims)
}

// late asks for a voucher for an order that was late, or was not.
func late(t *draft) string {
	days, since := 1+t.IntN(3), 4+t.IntN(20)
	var refused string
	switch t.n % 4 {
	case 1:
		days = 5 + t.IntN(5)
	case 2:
		days, refused = 0, "on_time"
	case 3:
		refused = "already_given"
	}
	o := t.order(t.who, "delivered", since, days)
	t.order(t.who, "delivered", since+20, pick(t, []int{0, 6}))
	t.order(t.customer(), "delivered", since, 2)
	dollars := 5
	if days > 3 {
		dollars = 10
	}
	if refused == "already_given" {
		t.Seed.Vouchers = append(t.Seed.Vouchers, voucher{o.Number, dollars, 1})
	}
	t.looks(o)
	if refused != "" {
		t.closes("refused", refused)
	} else {
		t.does("give "+o.Number+" "+map[int]string{5: "5", 10: "10"}[dollars], "give_voucher", "order", o.Number, "dollars", dollars)
		t.closes("done", "")
	}
	return t.say([]string{
		"Order %1 came late. I want to be compensated for that.", "I had to wait far too long for order %1. What do I get for it?", "Your late delivery of order %1 spoiled a birthday. I expect compensation.",
		"Compensation for the delay of order %1, please. I think that 50 dollars would be right.", "Order %1 did not come on the day that you promised. What compensation is there?",
	}, o.Number)
}

// lateness is how many days after the promised one an order was delivered.
func lateness(o order) int {
	promised, err1 := time.Parse(time.DateOnly, o.Promised)
	arrived, err2 := time.Parse(time.DateOnly, *o.Delivered)
	if err1 != nil || err2 != nil {
		panic("shop: a day that is none") // drawn here
	}
	return int(arrived.Sub(promised).Hours()) / 24
}
