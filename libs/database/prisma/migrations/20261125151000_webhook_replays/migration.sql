-- A deleted webhook stays until its deliveries have been deleted in portions.
ALTER TABLE "webhook"."webhooks" ADD COLUMN "deleted_at" TIMESTAMPTZ(3);
ALTER TABLE "webhook"."webhooks" ADD CONSTRAINT "webhooks_deleted" CHECK ("deleted_at" IS NULL OR "status" = 'paused');
CREATE INDEX "webhooks_deleted_at_idx" ON "webhook"."webhooks"("deleted_at") WHERE "deleted_at" IS NOT NULL;

CREATE INDEX "deliveries_webhook_id_status_id_idx" ON "webhook"."deliveries"("webhook_id", "status", "id");
CREATE INDEX "deliveries_webhook_id_topic_id_idx" ON "webhook"."deliveries"("webhook_id", "topic", "id");
CREATE INDEX "deliveries_webhook_id_created_at_id_idx" ON "webhook"."deliveries"("webhook_id", "created_at", "id");
DROP INDEX "webhook"."deliveries_webhook_id_created_at_idx";

-- The latest replay of a webhook. The dispatcher queues its deliveries in portions.
CREATE TABLE "webhook"."replays" (
    "webhook_id" UUID NOT NULL,
    "from_time" TIMESTAMPTZ(3) NOT NULL,
    "to_time" TIMESTAMPTZ(3) NOT NULL,
    "delivery_status" TEXT,
    "state" TEXT NOT NULL,
    "queued" INTEGER NOT NULL DEFAULT 0,
    "reached_time" TIMESTAMPTZ(3) NOT NULL,
    "reached_id" UUID NOT NULL,
    "portion_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "replays_pkey" PRIMARY KEY ("webhook_id"),
    CONSTRAINT "replays_delivery_status" CHECK ("delivery_status" IN ('delivered', 'failed')),
    CONSTRAINT "replays_state" CHECK ("state" IN ('running', 'finished', 'limited', 'canceled')),
    CONSTRAINT "replays_finished" CHECK (("state" = 'running') = ("finished_at" IS NULL)),
    CONSTRAINT "replays_webhook_id_fkey" FOREIGN KEY ("webhook_id")
        REFERENCES "webhook"."webhooks"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "replays_portion_at_idx" ON "webhook"."replays"("portion_at") WHERE "state" = 'running';
