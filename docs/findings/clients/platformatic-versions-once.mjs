// node platformatic-versions-once.mjs BOOTSTRAP, with @platformatic/kafka 2.12.1
// The broker is a newer release on the data of an older one, as after the first step of an upgrade.
import { Admin, Consumer, Producer, stringSerializers } from '@platformatic/kafka'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

const bootstrapBrokers = [process.argv[2]]
const name = `once-${Date.now()}`
const admin = new Admin({ clientId: 'admin', bootstrapBrokers })
await admin.createTopics({ topics: [name], partitions: 1, replicas: 1 })
await admin.close()

async function produce () {
  const producer = new Producer({ clientId: 'producer', bootstrapBrokers, serializers: stringSerializers })
  await producer.send({ messages: [{ topic: name, value: 'x' }] })
  await producer.close()
}

async function start (clientId, groupId) {
  const reader = { read: 0, told: new Set() }
  const consumer = new Consumer({ clientId, bootstrapBrokers, groupId, autocommit: false })
  consumer.on('consumer:heartbeat:error', ({ error }) => reader.told.add(error.message))
  const stream = await consumer.consume({ topics: [name], mode: 'committed', fallbackMode: 'earliest' })
  stream.on('data', () => { reader.read += 1 })
  stream.on('error', error => reader.told.add(error.message))
  return reader
}

const first = await start('first', name)
await produce()
await sleep(3000)
console.log('read by the first consumer:', first.read)
console.log('end the broker, start the older release on its data, then press Enter')
await once(process.stdin, 'data')
await produce()
const second = await start('second', `${name}-second`)
await sleep(30000)
console.log('read by the first consumer:', first.read, 'and its errors:', [...first.told])
console.log('read by one that was just started:', second.read)
process.exit()
