-- Lists the orders of a customer, the newest first: number, status, day of the order, and what was bought.
-- effect: pure
-- param email: {"type": "string", "description": "the customer's e-mail address"}
-- none: no such customer, or no orders
SELECT o.number || ' ' || o.status || ', ordered ' || o.ordered || ': ' || (SELECT group_concat(sku, ', ') FROM (SELECT sku FROM items WHERE number = o.number ORDER BY sku))
FROM orders o
WHERE o.email = lower(trim(:email))
ORDER BY o.ordered DESC, o.number;
