// The driver of @platformatic/kafka, as its README reads from a stream.
import { Consumer } from '@platformatic/kafka'
import { readFileSync } from 'node:fs'
import { Unsupported, User, drive } from './user.mjs'

const home = new URL('./node_modules/@platformatic/kafka/package.json', import.meta.url)
const { version } = JSON.parse(readFileSync(home))
const assignors = ['roundrobin', 'cooperative-sticky']

class PlatformaticUser extends User {
  #assigned = []

  async start (command) {
    if (!assignors.includes(command.assignor)) throw new Unsupported(`there is no assignor ${command.assignor}`)
    if (command.rack !== null) throw new Unsupported('a consumer has no rack')
    this.consumer = new Consumer({
      groupId: command.group,
      clientId: command.client_id,
      bootstrapBrokers: command.bootstrap.split(','),
      sessionTimeout: command.session_timeout_ms,
      heartbeatInterval: command.heartbeat_interval_ms,
      rebalanceTimeout: command.max_poll_interval_ms,
      protocols: [{ name: command.assignor, version: 1 }],
      autocommit: command.auto_commit_ms ?? false,
      ...(command.instance !== null && { groupInstanceId: command.instance }),
      ...command.settings
    })
    this.consumer.on('consumer:group:join', ({ assignments }) => this.#joined(assignments))
    if (command.assignor !== 'cooperative-sticky') { // there it may keep what it has
      this.consumer.on('consumer:group:rebalance', () => this.tellPartitions('revoked', this.#assigned))
    }
    this.consumer.on('consumer:heartbeat:error', ({ error }) => this.#warn('consumer:heartbeat:error', error))
    this.consumer.on('consumer:group:autocommit:error', ({ error }) => this.#warn('consumer:group:autocommit:error', error))
    this.consumer.on('error', error => this.tellError('error', error))
    this.fallbackMode = command.auto_offset_reset
    this.topics = command.topics
    await this.#consume()
  }

  #joined (assignments) {
    this.#assigned = (assignments ?? [])
      .flatMap(({ topic, partitions }) => partitions.map(number => [topic, number]))
    this.tellPartitions('assigned', this.#assigned)
  }

  #warn (where, error) {
    this.tell('error', { where, ...this.error(error), fatal: false })
  }

  async #consume () {
    this.stream = await this.consumer.consume({
      topics: this.topics, mode: 'committed', fallbackMode: this.fallbackMode
    })
    this.#read(this.stream)
  }

  async #read (stream) {
    try {
      for await (const message of stream) {
        this.tellRecord(message.topic, message.partition, message.offset, message)
        await this.polling()
      }
      if (this.stream === stream) this.tell('ended', {})
    } catch (error) {
      this.tell('error', { where: 'stream', ...this.error(error), fatal: true }) // it is destroyed
    }
  }

  async pollOn () {
    super.pollOn()
    if (this.stream?.destroyed) await this.#consume()
  }

  async commit () {
    for (const message of this.last.values()) await message.commit()
  }

  async #closeStream () {
    const { stream } = this
    this.stream = null
    await stream?.close()
  }

  async subscribe (topics) {
    this.topics = topics
    await this.#closeStream()
    await this.#consume()
  }

  async close () {
    await this.#closeStream()
    await this.consumer.close()
  }

  error (error) {
    const cause = answered(error) ?? error
    return { code: cause.apiId ?? cause.code ?? cause.name, fatal: !cause.canRetry, message: error.message }
  }
}

/** The broker's error within one of the library's, which wrap each other. */
function answered (error) {
  if (error.apiId !== undefined) return error
  for (const inner of [...(error.errors ?? []), ...(error.cause ? [error.cause] : [])]) {
    const nested = answered(inner)
    if (nested) return nested
  }
}

drive({
  client: '@platformatic/kafka',
  version,
  features: ['static', 'cooperative', 'auto-commit', 'manual-commit', 'next-generation'],
  assignors
}, PlatformaticUser)
