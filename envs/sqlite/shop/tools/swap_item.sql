-- Puts another product into an order in place of one that is in it, in the same quantity.
-- effect: episode_local
-- param order: {"type": "string", "description": "the order's number, four digits"}
-- param product: {"type": "string", "description": "the product to take out, such as mug-1"}
-- param other: {"type": "string", "description": "the product to put in, such as mug-2"}
-- none: nothing was swapped: no such item in that order, or no such other product
UPDATE items SET sku = lower(trim(:other))
WHERE number = trim(:order) AND sku = lower(trim(:product)) AND lower(trim(:other)) IN (SELECT sku FROM products)
RETURNING 'order ' || number || ' has ' || sku;
