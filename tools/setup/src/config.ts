import { databaseConfig, kafkaConfig, variable } from '@waymark/service-kit'
import { Type } from 'typebox'

/** The variables of the setup. */
export const setupConfig = {
  database: databaseConfig,
  kafka: kafkaConfig,
  topics: {
    waitMs: variable(
      'KAFKA_WAIT_MS',
      Type.Integer({
        minimum: 0,
        default: 0,
        description: 'How long, in ms, the setup waits for Kafka before it fails.',
      }),
    ),
    partitions: variable(
      'KAFKA_PARTITIONS',
      Type.Integer({ minimum: 1, default: 12, description: 'Partitions of each new topic.' }),
    ),
    replication: variable(
      'KAFKA_REPLICATION',
      Type.Integer({ minimum: 1, default: 1, description: 'Replicas of each new topic.' }),
    ),
  },
  demo: {
    baseUrl: variable(
      'DEMO_BASE_URL',
      Type.String({
        default: '',
        description: 'Make the demo project and print its `demo.json` with this address.',
      }),
    ),
    file: variable(
      'DEMO_FILE',
      Type.String({ default: '', description: 'Keep `demo.json` in this file, and do not print it.' }),
    ),
    secret: variable(
      'DEMO_SECRET',
      Type.String({
        default: '',
        pattern: '^[a-z0-9.-]*$',
        description: 'Keep `demo.json` in the Kubernetes Secret of this name, and do not print it.',
      }),
    ),
  },
} as const
