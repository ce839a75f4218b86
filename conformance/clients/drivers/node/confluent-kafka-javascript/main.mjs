// The driver of @confluentinc/kafka-javascript, as its README runs a consumer (the promisified API).
import confluent from '@confluentinc/kafka-javascript'
import { createRequire } from 'node:module'
import { Unsupported, User, drive } from './user.mjs'

const { version } = createRequire(import.meta.url)('@confluentinc/kafka-javascript/package.json')
const { Kafka, ErrorCodes } = confluent.KafkaJS

class ConfluentUser extends User {
  async start (command) {
    this.started = command
    const config = {
      'bootstrap.servers': command.bootstrap,
      'group.id': command.group,
      'session.timeout.ms': command.session_timeout_ms,
      'heartbeat.interval.ms': command.heartbeat_interval_ms,
      'max.poll.interval.ms': command.max_poll_interval_ms,
      'partition.assignment.strategy': command.assignor,
      'auto.offset.reset': command.auto_offset_reset,
      'client.id': command.client_id,
      'enable.auto.commit': command.auto_commit_ms !== null,
      ...(command.instance !== null && { 'group.instance.id': command.instance }),
      ...(command.rack !== null && { 'client.rack': command.rack }),
      ...(command.auto_commit_ms !== null && { 'auto.commit.interval.ms': command.auto_commit_ms }),
      ...command.settings
    }
    this.consumer = new Kafka().consumer({
      ...config,
      kafkaJS: { logger: this.#logger() },
      rebalance_cb: (error, partitions, { assignmentLost }) => this.#rebalanced(error, partitions, assignmentLost())
    })
    await this.consumer.connect()
    await this.consumer.subscribe({ topics: command.topics })
    await this.consumer.run({
      eachMessage: async ({ topic, partition, message }) => {
        this.tellRecord(topic, partition, message.offset, { topic, partition, offset: message.offset })
        await this.polling()
      }
    })
  }

  /** Errors have no callback: they are logged, and told nowhere else. */
  #logger () {
    const log = level => message => this.tell('log', { level, message: String(message) })
    const logger = { error: log('error'), warn: log('warn'), info () {}, debug () {}, setLogLevel () {} }
    return Object.assign(logger, { namespace: () => logger })
  }

  #rebalanced (error, partitions, isLost) {
    const pairs = partitions.map(({ topic, partition }) => [topic, partition])
    if (error.code === ErrorCodes.ERR__ASSIGN_PARTITIONS) {
      this.tellPartitions('assigned', pairs)
    } else if (error.code === ErrorCodes.ERR__REVOKE_PARTITIONS) {
      this.tellPartitions(isLost ? 'lost' : 'revoked', pairs)
    } else {
      this.tellError('rebalance_cb', error)
    }
  }

  async commit () {
    await this.consumer.commitOffsets(this.#positions())
  }

  #positions () {
    return [...this.last.values()]
      .map(one => ({ ...one, offset: (BigInt(one.offset) + 1n).toString() }))
  }

  /** Sends the positions to a transaction of a producer, and commits it. */
  async commitInTransaction () {
    const { bootstrap, group, client_id: clientId } = this.started
    const producer = new Kafka().producer({
      'bootstrap.servers': bootstrap,
      'client.id': clientId,
      'transactional.id': `${group}-${clientId}`,
      kafkaJS: { logger: this.#logger() }
    })
    await producer.connect()
    try {
      const transaction = await producer.transaction()
      const topics = new Map()
      for (const { topic, partition, offset } of this.#positions()) {
        topics.set(topic, [...topics.get(topic) ?? [], { partition, offset }])
      }
      try {
        await transaction.sendOffsets({
          consumer: this.consumer,
          topics: [...topics].map(([topic, partitions]) => ({ topic, partitions }))
        })
        await transaction.commit()
      } catch (error) {
        if (error.abortable) await transaction.abort()
        throw error
      }
    } finally {
      await producer.disconnect()
    }
  }

  async subscribe (topics) {
    await this.consumer.subscribe({ topics, replace: true })
  }

  async unsubscribe () {
    throw new Unsupported('a consumer has no unsubscribe')
  }

  async pause (topics) {
    this.consumer.pause(topics)
  }

  async resume (topics) {
    this.consumer.resume(topics)
  }

  async close () {
    this.pollOn() // it waits for the handler
    await this.consumer.disconnect()
  }

  error (error) {
    const code = String(error.type ?? error.name).replace(/^ERR_/, '')
    return { code, fatal: error.fatal === true || code === '_FATAL', message: error.message }
  }
}

drive({
  client: 'confluent-kafka-javascript',
  version: `${version}, librdkafka ${confluent.librdkafkaVersion}`,
  features: ['static', 'cooperative', 'auto-commit', 'manual-commit', 'pause', 'seek', 'next-generation', 'transactions'],
  assignors: ['range', 'roundrobin', 'cooperative-sticky']
}, ConfluentUser)
