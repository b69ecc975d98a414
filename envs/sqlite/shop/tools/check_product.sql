-- Tells of a product its name, its price today, how many are in stock, and whether it is on final sale.
-- effect: pure
-- param product: {"type": "string", "description": "the product, such as mug-1"}
-- none: no such product
SELECT sku || ': ' || name || ', ' || printf('%d.%02d', cents / 100, cents % 100) || ', ' || stock || ' in stock' || iif(final_sale, ', final sale', '')
FROM products WHERE sku = lower(trim(:product));
