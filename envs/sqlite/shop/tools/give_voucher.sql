-- Gives the customer of an order a voucher. It cannot be taken back.
-- effect: episode_local
-- param order: {"type": "string", "description": "the order's number, four digits"}
-- param dollars: {"type": "integer", "description": "what it is worth", "minimum": 1, "maximum": 50}
-- none: no voucher was given: no such order
INSERT INTO vouchers (number, dollars) SELECT number, :dollars FROM orders WHERE number = trim(:order)
RETURNING 'a voucher of ' || dollars || ' dollars for order ' || number;
