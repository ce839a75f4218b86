// The driver of kafkajs, as its documentation runs a consumer.
import kafkajs from 'kafkajs'
import { createRequire } from 'node:module'
import { Unsupported, User, drive } from './user.mjs'

const { version } = createRequire(import.meta.url)('kafkajs/package.json')
const assigners = { roundrobin: kafkajs.PartitionAssigners.roundRobin }

class KafkajsUser extends User {
  #assigned = []
  #crashed = false

  async start (command) {
    if (!(command.assignor in assigners)) throw new Unsupported(`there is no assigner ${command.assignor}`)
    if (command.instance !== null) throw new Unsupported('a consumer has no group instance id')
    const kafka = new kafkajs.Kafka({
      clientId: command.client_id,
      brokers: command.bootstrap.split(','),
      logLevel: kafkajs.logLevel.WARN
    })
    this.consumer = kafka.consumer({
      groupId: command.group,
      sessionTimeout: command.session_timeout_ms,
      heartbeatInterval: command.heartbeat_interval_ms,
      rebalanceTimeout: command.max_poll_interval_ms,
      // Heartbeats are sent between fetches only, so a fetch must not wait for longer.
      maxWaitTimeInMs: Math.min(5000, command.heartbeat_interval_ms),
      partitionAssigners: [assigners[command.assignor]],
      rackId: command.rack ?? '',
      ...command.settings
    })
    const { GROUP_JOIN, REBALANCING, CRASH } = this.consumer.events
    this.consumer.on(GROUP_JOIN, ({ payload }) => this.#joined(payload.memberAssignment))
    if (REBALANCING) this.consumer.on(REBALANCING, () => this.tellPartitions('revoked', this.#assigned))
    this.consumer.on(CRASH, ({ payload }) => this.#crash(payload))
    this.fromBeginning = command.auto_offset_reset === 'earliest'
    this.run = {
      autoCommit: command.auto_commit_ms !== null,
      autoCommitInterval: command.auto_commit_ms,
      eachMessage: async ({ topic, partition, message }) => {
        await this.polling()
        this.tellRecord(topic, partition, message.offset, { topic, partition, offset: message.offset })
      }
    }
    await this.consumer.connect()
    await this.subscribe(command.topics)
  }

  #joined (assignment) {
    this.#assigned = Object.entries(assignment)
      .flatMap(([topic, numbers]) => numbers.map(number => [topic, number]))
    this.tellPartitions('assigned', this.#assigned)
  }

  #crash ({ error, restart = goesOn(error) }) {
    this.#crashed = !restart
    this.tell('error', { where: 'consumer.crash', ...this.error(error), fatal: !restart })
    if (!restart) this.tell('ended', {})
  }

  async pollOn () {
    super.pollOn()
    if (this.#crashed) {
      this.#crashed = false
      await this.consumer.connect()
      await this.consumer.run(this.run)
    }
  }

  async commit () {
    const offsets = [...this.last.values()]
      .map(one => ({ ...one, offset: (BigInt(one.offset) + 1n).toString() }))
    await this.consumer.commitOffsets(offsets)
  }

  async subscribe (topics) {
    await this.consumer.stop()
    for (const topic of topics) { // one by one: a list of them came with 2.0
      await this.consumer.subscribe({ topic, fromBeginning: this.fromBeginning })
    }
    await this.consumer.run(this.run)
  }

  async unsubscribe () {
    await this.consumer.stop()
  }

  async pause (topics) {
    this.consumer.pause(topics)
  }

  async resume (topics) {
    this.consumer.resume(topics)
  }

  async close () {
    await this.consumer.disconnect()
  }

  error (error) {
    const cause = error.cause ?? error
    return { code: cause.type ?? cause.name, fatal: !error.retriable, message: error.message }
  }
}

/** Tells if it restarts after a crash, as releases before 1.16 do, which have no field for it. */
function goesOn (error) {
  return error.retriable === true || error.name === 'KafkaJSNumberOfRetriesExceeded'
}

drive({
  client: 'kafkajs',
  version,
  features: ['auto-commit', 'manual-commit', 'pause', 'seek'],
  assignors: Object.keys(assigners)
}, KafkajsUser)
