-- A pool of kind `automatic` has no codes. Rows that exist satisfied the narrower constraint.
ALTER TABLE "coupon"."pools" DROP CONSTRAINT "pools_kind";
ALTER TABLE "coupon"."pools" ADD CONSTRAINT "pools_kind" CHECK ("kind" IN ('unique', 'shared', 'automatic')) NOT VALID;

ALTER TABLE "coupon"."pools" ADD COLUMN "priority" INTEGER NOT NULL DEFAULT 0;
