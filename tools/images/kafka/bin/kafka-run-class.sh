#!/usr/bin/env bash
# Runs the JVM for the command with this script's name, or for the class in the first argument.
set -euo pipefail

name="$(basename "$0")"
case $name in
  kafka-run-class.sh) class=${1:?usage: kafka-run-class.sh class [argument...]} && shift ;;
  kafka-acls.sh) class=org.apache.kafka.tools.AclCommand ;;
  kafka-broker-api-versions.sh) class=org.apache.kafka.tools.BrokerApiVersionsCommand ;;
  kafka-cluster.sh) class=org.apache.kafka.tools.ClusterTool ;;
  kafka-configs.sh) class=kafka.admin.ConfigCommand ;;
  kafka-console-consumer.sh) class=org.apache.kafka.tools.consumer.ConsoleConsumer ;;
  kafka-console-producer.sh) class=org.apache.kafka.tools.ConsoleProducer ;;
  kafka-consumer-groups.sh) class=org.apache.kafka.tools.consumer.group.ConsumerGroupCommand ;;
  kafka-consumer-perf-test.sh) class=org.apache.kafka.tools.ConsumerPerformance ;;
  kafka-delete-records.sh) class=org.apache.kafka.tools.DeleteRecordsCommand ;;
  kafka-get-offsets.sh) class=org.apache.kafka.tools.GetOffsetShell ;;
  kafka-leader-election.sh) class=org.apache.kafka.tools.LeaderElectionCommand ;;
  kafka-log-dirs.sh) class=org.apache.kafka.tools.LogDirsCommand ;;
  kafka-metadata-quorum.sh) class=org.apache.kafka.tools.MetadataQuorumCommand ;;
  kafka-producer-perf-test.sh) class=org.apache.kafka.tools.ProducerPerformance ;;
  kafka-reassign-partitions.sh) class=org.apache.kafka.tools.reassign.ReassignPartitionsCommand ;;
  kafka-server-start.sh) class=kafka.Kafka ;;
  kafka-storage.sh) class=kafka.tools.StorageTool ;;
  kafka-topics.sh) class=org.apache.kafka.tools.TopicCommand ;;
  *) echo "$name is not a command of this image" >&2 && exit 1 ;;
esac

# A broker is tuned for throughput, a tool for a short run time.
case $class in
  kafka.Kafka)
    archive=server heap='-Xmx1G -Xms1G' logging=/opt/kafka/config/log4j2.yaml
    tuning='-server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 -XX:+ExplicitGCInvokesConcurrent'
    ;;
  *)
    archive=tools heap='-Xmx256M' logging=/opt/kafka/config/tools-log4j2.yaml
    tuning='-XX:+UseSerialGC -XX:TieredStopAtLevel=1'
    ;;
esac
if [ "$class" = kafka.docker.KafkaDockerWrapper ]; then archive=setup; fi

# A class archive halves the start-up time. It is valid only for the exact class path it was created with.
archive_file=/opt/kafka/archives/$archive.jsa
if [ -n "${ARCHIVE_CLASSES:-}" ]; then
  tuning+=" -XX:ArchiveClassesAtExit=$archive_file"
elif [ -s "$archive_file" ]; then
  tuning+=" -XX:SharedArchiveFile=$archive_file"
fi

jars=(/opt/kafka/libs/*.jar)
class_path="$(IFS=: && echo "${jars[*]}")${CLASSPATH:+:$CLASSPATH}"

# The variables hold several options, separated by spaces.
# shellcheck disable=SC2086
exec java ${KAFKA_HEAP_OPTS:-$heap} ${KAFKA_JVM_PERFORMANCE_OPTS:-$tuning -Djava.awt.headless=true} \
  ${KAFKA_GC_LOG_OPTS:-} ${KAFKA_JMX_OPTS:-} ${KAFKA_LOG4J_OPTS:--Dlog4j2.configurationFile=$logging} \
  -cp "$class_path" ${KAFKA_OPTS:-} "$class" "$@"
