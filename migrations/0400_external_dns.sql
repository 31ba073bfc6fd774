-- The owner id of the external-dns client that works for an owner: empty until it is known, NULL if none does.
ALTER TABLE owner ADD COLUMN external_dns TEXT;
