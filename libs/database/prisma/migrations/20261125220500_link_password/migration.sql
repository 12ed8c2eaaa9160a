-- The argon2id hash of the password that visitors of a link must give, as a PHC string.
ALTER TABLE "link"."links" ADD COLUMN "password_hash" TEXT;
