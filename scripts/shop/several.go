package main

// several asks for more than one thing, or for something whose order has to be found first.
func several(t *draft) string {
	switch t.n % 5 {
	case 0: // one of two may be cancelled
		a, b := t.order(t.who, "placed", 0, 0), t.order(t.who, "packed", 0, 0)
		t.order(t.customer(), "placed", 0, 0)
		t.looks(a)
		t.looks(b)
		t.does("cancel "+a.Number, "cancel_order", "order", a.Number)
		t.closes("partly", "too_late")
		return t.say([]string{"Please cancel my orders %1 and %2.", "Cancel %2 and %1, please, I need neither of them."}, a.Number, b.Number)
	case 1: // a refund and a voucher, both right
		p := t.usual(nil)
		o := t.order(t.who, "delivered", 4+t.IntN(20), 6+t.IntN(4), p)
		t.order(t.customer(), "delivered", 9, 6, p)
		t.looks(o)
		t.does("refund "+o.Number+" "+p.sku, "refund_item", "order", o.Number, "product", p.sku)
		t.does("give "+o.Number+" 10", "give_voucher", "order", o.Number, "dollars", 10)
		t.closes("done", "")
		return t.say([]string{"Order %1 came days after the day you promised, and the %2 in it is dented. I want a refund for that and compensation for the delay."}, o.Number, p.name)
	case 2: // the order has to be found by what is in it
		p := t.usual(nil)
		o := t.order(t.who, "delivered", 4+t.IntN(20), 0, p)
		for range 2 {
			t.without(p)
		}
		t.order(t.customer(), "delivered", 5, 0, p)
		t.does("", "find_customer", "email", t.who.Email)
		t.looks(o)
		t.does("refund "+o.Number+" "+p.sku, "refund_item", "order", o.Number, "product", p.sku)
		t.closes("done", "")
		return t.say([]string{"I bought %1 (%2) from you some time ago and want to return it for a refund. I have lost the order's number.", "A while ago you sent me %1. It is not for me; please refund it. You will find the order under my address."}, p.sku, p.name)
	case 3: // one of two items may be refunded
		p, final := t.usual(nil), t.named("apron-2")
		o := t.order(t.who, "delivered", 4+t.IntN(20), 0, p, final)
		t.order(t.customer(), "delivered", 9, 0, p)
		t.looks(o)
		t.does("refund "+o.Number+" "+p.sku, "refund_item", "order", o.Number, "product", p.sku)
		t.closes("partly", "final_sale")
		return t.say([]string{"Of order %1 I want to return %2 and apron-2. Please refund both.", "Refund apron-2 and %2 of order %1, please."}, o.Number, p.sku)
	}
	// a swap that is allowed, and a new address
	from, to := t.named("mug-1"), t.named("mug-2")
	if t.n%2 == 1 {
		from, to = t.named("scale-2"), t.named("scale-1")
	}
	o := t.order(t.who, "placed", 0, 0, from)
	for i := range t.Seed.Items {
		if t.Seed.Items[i].SKU == to.sku { // it would be in the order twice
			t.Seed.Items[i].SKU, t.Seed.Items[i].Cents = "jar-1", 690*t.Seed.Items[i].Quantity
		}
	}
	t.order(t.customer(), "placed", 0, 0, from)
	at := t.address()
	t.looks(o)
	t.does("", "check_product", "product", to.sku)
	t.does("swap "+o.Number+" "+from.sku+" for "+to.sku, "swap_item", "order", o.Number, "product", from.sku, "other", to.sku)
	t.does("move "+o.Number+" to "+quoted(at), "move_order", "order", o.Number, "address", at)
	t.closes("done", "")
	return t.say([]string{"Two things about order %1: I would rather have %3 than %2, and please send it to %4"}, o.Number, from.sku, to.sku, at)
}

// without adds an older order of the customer that has no such product, but a jar.
func (t *draft) without(p product) {
	jar := t.named("jar-2")
	if p == jar {
		jar = t.named("jar-1")
	}
	from := len(t.Seed.Items)
	t.order(t.who, "delivered", 40+t.IntN(30), 0)
	for i := from; i < len(t.Seed.Items); i++ {
		if t.Seed.Items[i].SKU == p.sku {
			t.Seed.Items[i].SKU, t.Seed.Items[i].Cents = jar.sku, jar.cents*t.Seed.Items[i].Quantity
		}
	}
}
