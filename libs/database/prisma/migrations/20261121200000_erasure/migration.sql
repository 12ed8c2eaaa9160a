-- Erasing and exporting a person finds what is theirs.
CREATE INDEX "redemptions_project_id_profile_id_idx" ON "coupon"."redemptions"("project_id", "profile_id")
    WHERE "profile_id" IS NOT NULL;
CREATE INDEX "attempts_project_id_profile_id_idx" ON "coupon"."attempts"("project_id", "profile_id")
    WHERE "profile_id" IS NOT NULL;
CREATE INDEX "deliveries_project_id_profile_id_idx" ON "email"."deliveries"("project_id", "profile_id")
    WHERE "profile_id" IS NOT NULL;
