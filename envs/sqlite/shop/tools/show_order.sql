-- Shows all of an order: whose it is, its status, its days, its address, its items with what was paid for them, and its vouchers.
-- effect: pure
-- param order: {"type": "string", "description": "the order's number, four digits"}
-- none: no such order
SELECT line FROM (
  SELECT 1 AS part, 'order ' || number || ' of ' || email || ': ' || status AS line FROM orders WHERE number = trim(:order)
  UNION ALL
  SELECT 2, 'ordered ' || ordered || ', promised ' || promised || ', delivered ' || ifnull(delivered, 'not yet') FROM orders WHERE number = trim(:order)
  UNION ALL
  SELECT 3, 'to ' || address FROM orders WHERE number = trim(:order)
  UNION ALL
  SELECT 4, i.quantity || ' x ' || i.sku || ' (' || p.name || '), paid ' || printf('%d.%02d', i.cents / 100, i.cents % 100) || iif(p.final_sale, ', final sale', '') || iif(i.refunded, ', refunded', '')
  FROM items i JOIN products p USING (sku) WHERE i.number = trim(:order)
  UNION ALL
  SELECT 5, 'voucher of ' || dollars || ' dollars given' FROM vouchers WHERE number = trim(:order)
)
ORDER BY part, line;
