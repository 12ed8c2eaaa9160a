-- A list reads each topic and status by itself, so that no filter reads what it does not show.
CREATE INDEX "deliveries_webhook_id_topic_status_id_idx"
    ON "webhook"."deliveries"("webhook_id", "topic", "status", "id");
DROP INDEX "webhook"."deliveries_webhook_id_id_idx";
DROP INDEX "webhook"."deliveries_webhook_id_status_id_idx";
DROP INDEX "webhook"."deliveries_webhook_id_topic_id_idx";
