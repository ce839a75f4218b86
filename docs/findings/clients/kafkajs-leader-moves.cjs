// node kafkajs-leader-moves.cjs BOOTSTRAP, with kafkajs 2.2.4 and a cluster of two brokers or more
const { Kafka, logLevel } = require('kafkajs')
const { setTimeout: sleep } = require('node:timers/promises')

const kafka = new Kafka({ brokers: [process.argv[2]], logLevel: logLevel.NOTHING })
const topic = `orders-${Date.now()}`
const admin = kafka.admin()
const producer = kafka.producer()
const consumers = [0, 1].map(() => kafka.consumer({ groupId: topic, heartbeatInterval: 500 }))
let joins = 0
let read = 0

async function main () {
  await admin.connect()
  await producer.connect()
  const [first, second] = (await admin.describeCluster()).brokers.map(broker => broker.nodeId)
  await admin.createTopics({
    waitForLeaders: true,
    topics: [{
      topic,
      replicaAssignment: [0, 1].map(partition => ({ partition, replicas: [first] }))
    }]
  })
  for (const consumer of consumers) {
    await consumer.connect()
    consumer.on(consumer.events.GROUP_JOIN, () => { joins++ })
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await consumer.run({ eachMessage: async () => { read++ } })
  }
  await sleep(15000)
  console.log('assignments when two consumers have started:', joins)
  for (const partition of [0, 1]) {
    joins = 0
    await admin.alterPartitionReassignments({
      topics: [{ topic, partitionAssignment: [{ partition, replicas: [second] }] }]
    })
    await sleep(10000)
    console.log(`assignments when partition ${partition} has another leader:`, joins)
  }
  await producer.send({ topic, messages: [0, 1].map(partition => ({ partition, value: 'x' })) })
  await sleep(3000)
  console.log('records that the users got, of two:', read)
  process.exit()
}

main()
