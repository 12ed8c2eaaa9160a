-- Whether the browser is at the provider to prove again who uses the session.
ALTER TABLE "core"."oidc_sign_ins" ADD COLUMN "reauthenticates" BOOLEAN NOT NULL DEFAULT false;
