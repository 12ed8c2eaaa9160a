-- Brings stored email addresses into the form of `canonicalAddress`: the domain in Punycode, the local part composed.
-- Few rows: only addresses with letters beyond ASCII change.

-- A label of a domain in Punycode (RFC 3492).
CREATE FUNCTION pg_temp.punycode(label TEXT) RETURNS TEXT LANGUAGE plpgsql AS $$
DECLARE
  points INT[] := ARRAY(SELECT ascii(c) FROM regexp_split_to_table(label, '') WITH ORDINALITY AS split (c, i) ORDER BY i);
  result TEXT := regexp_replace(label, '[^\x01-\x7f]', '', 'g');
  basic INT := length(result);
  handled INT := basic;
  next INT := 128;
  delta BIGINT := 0;
  bias INT := 72;
  point INT;
  rest BIGINT;
  base INT;
  threshold INT;
BEGIN
  IF basic = cardinality(points) THEN
    RETURN label;
  END IF;
  IF basic > 0 THEN
    result := result || '-';
  END IF;
  WHILE handled < cardinality(points) LOOP
    point := (SELECT min(p) FROM unnest(points) AS p WHERE p >= next);
    delta := delta + (point - next)::BIGINT * (handled + 1);
    next := point;
    FOREACH point IN ARRAY points LOOP
      IF point < next THEN
        delta := delta + 1;
      ELSIF point = next THEN
        rest := delta;
        base := 36;
        LOOP
          threshold := least(greatest(base - bias, 1), 26);
          EXIT WHEN rest < threshold;
          result := result || substr('abcdefghijklmnopqrstuvwxyz0123456789', (threshold + (rest - threshold) % (36 - threshold))::INT + 1, 1);
          rest := (rest - threshold) / (36 - threshold);
          base := base + 36;
        END LOOP;
        result := result || substr('abcdefghijklmnopqrstuvwxyz0123456789', rest::INT + 1, 1);
        delta := CASE WHEN handled = basic THEN delta / 700 ELSE delta / 2 END;
        delta := delta + delta / (handled + 1);
        base := 0;
        WHILE delta > 455 LOOP
          delta := delta / 35;
          base := base + 36;
        END LOOP;
        bias := base + 36 * delta / (delta + 38);
        delta := 0;
        handled := handled + 1;
      END IF;
    END LOOP;
    delta := delta + 1;
    next := next + 1;
  END LOOP;
  RETURN 'xn--' || result;
END $$;

CREATE FUNCTION pg_temp.canonical_address(address TEXT) RETURNS TEXT LANGUAGE sql AS $$
  SELECT normalize(regexp_replace(address, '@[^@]*$', ''), NFC) || '@' ||
    string_agg(pg_temp.punycode(label), '.' ORDER BY i)
  FROM string_to_table(normalize(lower(normalize(regexp_replace(address, '^.*@', ''), NFKC)), NFKC), '.')
    WITH ORDINALITY AS labels (label, i)
$$;

CREATE TEMPORARY TABLE changed_suppressions ON COMMIT DROP AS
  SELECT id, project_id, canonical FROM (
    SELECT id, project_id, address, pg_temp.canonical_address(address) AS canonical
    FROM email.suppressions WHERE address ~ '[^\x01-\x7f]'
  ) AS spelled WHERE canonical <> address;

-- One mailbox that was suppressed in two spellings is suppressed once.
DELETE FROM email.suppressions s USING changed_suppressions c
WHERE s.id = c.id AND (
  EXISTS (SELECT FROM email.suppressions k WHERE k.project_id = c.project_id AND k.address = c.canonical)
  OR EXISTS (
    SELECT FROM changed_suppressions o WHERE o.project_id = c.project_id AND o.canonical = c.canonical AND o.id < c.id
  )
);
UPDATE email.suppressions s SET address = c.canonical FROM changed_suppressions c WHERE s.id = c.id;

CREATE TEMPORARY TABLE changed_users ON COMMIT DROP AS
  SELECT DISTINCT ON (canonical) id, email, canonical FROM (
    SELECT id, email, pg_temp.canonical_address(email) AS canonical FROM core.users WHERE email ~ '[^\x01-\x7f]'
  ) AS spelled WHERE canonical <> email ORDER BY canonical, id;

-- A second account of the same mailbox keeps its spelling: its provider still signs its user in.
UPDATE core.users u SET email = c.canonical FROM changed_users c
WHERE u.id = c.id AND NOT EXISTS (SELECT FROM core.users k WHERE k.email = c.canonical);

UPDATE core.invitations SET email = pg_temp.canonical_address(email) WHERE email ~ '[^\x01-\x7f]';
UPDATE core.user_identities SET email = pg_temp.canonical_address(email) WHERE email ~ '[^\x01-\x7f]';
UPDATE email.account_mails SET recipient = pg_temp.canonical_address(recipient) WHERE recipient ~ '[^\x01-\x7f]';
