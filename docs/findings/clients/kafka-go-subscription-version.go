// go run FILE BOOTSTRAP, in a module that requires segmentio/kafka-go v0.4.51.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/segmentio/kafka-go"
)

// tap shows the subscription in each JoinGroup that is written.
type tap struct{ net.Conn }

func (t tap) Write(sent []byte) (int, error) {
	name := []byte("\x00\x05range")
	if _, after, is := bytes.Cut(sent, name); is && binary.BigEndian.Uint16(sent[4:]) == 11 {
		size := binary.BigEndian.Uint32(after)
		fmt.Printf("% x\n", after[4:4+size])
		os.Exit(0)
	}
	return t.Conn.Write(sent)
}

func main() {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return tap{conn}, err
	}
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID:      fmt.Sprintf("bytes-%d", time.Now().UnixNano()),
		Brokers: os.Args[1:2],
		Topics:  []string{"orders"},
		Dialer:  &kafka.Dialer{Timeout: 10 * time.Second, DialFunc: dial},
	})
	if err != nil {
		panic(err)
	}
	_, err = group.Next(context.Background())
	panic(err)
}
