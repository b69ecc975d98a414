-- Tells the status of an order: placed, packed, shipped, delivered or cancelled.
-- effect: pure
-- param order: {"type": "string", "description": "the order's number, four digits"}
-- none: no such order
SELECT number || ' of ' || email || ' is ' || status FROM orders WHERE number = trim(:order);
