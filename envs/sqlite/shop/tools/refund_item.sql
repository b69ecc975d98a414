-- Pays back all that was paid for one item of an order. It cannot be taken back.
-- effect: episode_local
-- param order: {"type": "string", "description": "the order's number, four digits"}
-- param product: {"type": "string", "description": "the product, such as mug-1"}
-- none: nothing was refunded: no such item in that order, or it was refunded before
UPDATE items SET refunded = 1
WHERE number = trim(:order) AND sku = lower(trim(:product)) AND NOT refunded
RETURNING 'refunded ' || printf('%d.%02d', cents / 100, cents % 100);
