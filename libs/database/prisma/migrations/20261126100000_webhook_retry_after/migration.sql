-- When the endpoint of a webhook asked to be called again.
ALTER TABLE "webhook"."webhooks" ADD COLUMN "retry_after" TIMESTAMPTZ(3);
