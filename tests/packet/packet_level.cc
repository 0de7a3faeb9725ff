#include "tests/packet/packet_level.h"

#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <vector>

namespace orrery::packet {
namespace {

constexpr std::uint16_t kFirstPort = 1024;

// Packets of 9,000 bytes: IP's and TCP's headers take 40, timestamps 12.
constexpr std::uint32_t kPacket = 9000, kSegment = kPacket - 52;
// DCTCP: a sender's first window, in seconds at its port's rate, and the queue at a switch's port
// beyond which packets are marked, in seconds of that port. Both about the round trip of the
// patterns' paths, which is the smallest queue that keeps a port busy.
constexpr double kWindow = 10e-6, kMark = 10e-6;

// One stream: a connection and how far it is.
struct Flow {
  ns3::Ptr<ns3::Socket> sender, listener, receiver;
  std::uint64_t bytes = 0;  // of a message
  int count = 1, queued = 0, arrived = 0;
  std::uint64_t received = 0, unsent = 0;
  bool connected = false;
};

class Packets {
 public:
  Packets(const Traffic& traffic, Transport transport) : traffic_(traffic), transport_(transport) {
    using namespace ns3;
    // Attributes of the whole process, which every run sets again.
    const bool dctcp = transport == Transport::kDctcp;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                       TypeIdValue(dctcp ? TcpDctcp::GetTypeId() : TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kSegment));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(window()));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1u << 30));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1u << 25));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::TcpNoDelay", BooleanValue(true));
    nodes_.Create(static_cast<std::uint32_t>(traffic.vertices));
    InternetStackHelper stack;
    stack.Install(nodes_);
    wire();
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    open();
  }

  double run() {
    ns3::Simulator::Run();
    const double end = last_;
    ns3::Simulator::Destroy();
    for (const Flow& f : flows_) {
      if (f.arrived < f.count) throw std::runtime_error("a message never arrived");
    }
    return end - kStart;
  }

 private:
  static constexpr double kStart = 1;  // s, after the connections are made

  // The first window, in packets.
  std::uint32_t window() const {
    double bytes = 0;
    if (transport_ == Transport::kDctcp) {
      bytes = traffic_.links.front().bandwidth;
      for (const Link& l : traffic_.links) bytes = std::min(bytes, l.bandwidth);
      bytes *= kWindow;
    } else {
      for (const Stream& s : traffic_.streams) bytes = std::max(bytes, s.bytes * s.count);
    }
    return static_cast<std::uint32_t>(bytes / kSegment) + 1;
  }

  bool is_host(int vertex) const {
    return std::any_of(traffic_.streams.begin(), traffic_.streams.end(),
                       [&](const Stream& s) { return s.from == vertex || s.to == vertex; });
  }

  // A switch marks packets that it cannot send at once. The queue of a sender is not marked.
  static void mark(const ns3::Ptr<ns3::NetDevice>& port, double bandwidth) {
    using namespace ns3;
    DynamicCast<PointToPointNetDevice>(port)->GetQueue()->SetMaxSize(QueueSize("2p"));
    const double threshold = std::max(2.0, bandwidth * kMark / kPacket);
    TrafficControlHelper red;
    red.SetRootQueueDisc(
        "ns3::RedQueueDisc", "UseEcn", BooleanValue(true), "UseHardDrop", BooleanValue(false), "QW",
        DoubleValue(1), "MeanPktSize", UintegerValue(kPacket), "MinTh", DoubleValue(threshold),
        "MaxTh", DoubleValue(threshold + 1), "MaxSize", StringValue("1000000p"), "LinkBandwidth",
        DataRateValue(DataRate(static_cast<std::uint64_t>(bandwidth * 8))));
    red.Install(port);
  }

  void wire() {
    using namespace ns3;
    std::uint32_t subnet = 0;
    address_.resize(static_cast<std::size_t>(traffic_.vertices));
    for (const Link& l : traffic_.links) {
      PointToPointHelper p2p;
      p2p.SetDeviceAttribute("DataRate",
                             DataRateValue(DataRate(static_cast<std::uint64_t>(l.bandwidth * 8))));
      p2p.SetDeviceAttribute("Mtu", UintegerValue(kPacket));
      p2p.SetChannelAttribute("Delay", TimeValue(ns3::Seconds(l.latency)));
      p2p.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000000p"));
      const NetDeviceContainer devices = p2p.Install(nodes_.Get(static_cast<std::uint32_t>(l.from)),
                                                     nodes_.Get(static_cast<std::uint32_t>(l.to)));
      Ipv4AddressHelper addresses;
      addresses.SetBase(Ipv4Address(0x0A000000 + 4 * subnet++), Ipv4Mask(0xFFFFFFFC));
      const Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
      TrafficControlHelper none;
      none.Uninstall(devices);
      if (transport_ == Transport::kDctcp) {
        if (!is_host(l.from)) mark(devices.Get(0), l.bandwidth);
        if (!is_host(l.to)) mark(devices.Get(1), l.bandwidth);
      }
      address_[static_cast<std::size_t>(l.from)] = interfaces.GetAddress(0);
      address_[static_cast<std::size_t>(l.to)] = interfaces.GetAddress(1);
    }
  }

  void open() {
    using namespace ns3;
    const auto& streams = traffic_.streams;
    flows_.resize(streams.size());
    for (std::size_t i = 0; i < streams.size(); ++i) {
      Flow& f = flows_[i];
      f.bytes = static_cast<std::uint64_t>(streams[i].bytes);
      f.count = streams[i].count;
      const auto from = static_cast<std::uint32_t>(streams[i].from);
      const auto to = static_cast<std::uint32_t>(streams[i].to);
      const auto port = static_cast<std::uint16_t>(kFirstPort + i);
      f.listener = Socket::CreateSocket(nodes_.Get(to), TcpSocketFactory::GetTypeId());
      f.listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
      f.listener->Listen();
      f.listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                    MakeCallback(&Packets::accepted, this));
      f.sender = Socket::CreateSocket(nodes_.Get(from), TcpSocketFactory::GetTypeId());
      f.sender->Bind();
      f.sender->SetSendCallback(MakeCallback(&Packets::room, this));
      f.sender->Connect(InetSocketAddress(address_[to], port));
      by_socket_[PeekPointer(f.sender)] = i;
      by_port_[port] = i;
    }
    Simulator::Schedule(ns3::Seconds(kStart), &Packets::begin, this);
  }

  void begin() {
    for (std::size_t i = 0; i < flows_.size(); ++i) queue(i);
  }

  void accepted(ns3::Ptr<ns3::Socket> socket, const ns3::Address&) {
    ns3::Address local;
    socket->GetSockName(local);
    const std::size_t i = by_port_.at(ns3::InetSocketAddress::ConvertFrom(local).GetPort());
    by_socket_[ns3::PeekPointer(socket)] = i;
    flows_[i].receiver = socket;
    socket->SetRecvCallback(ns3::MakeCallback(&Packets::readable, this));
  }

  // Queues the messages that may be sent.
  void queue(std::size_t i) {
    Flow& f = flows_[i];
    while (f.queued < f.count) {
      for (const Wait& w : traffic_.waits) {
        if (w.stream != static_cast<int>(i)) continue;
        const Flow& other = flows_[static_cast<std::size_t>(w.other)];
        if (other.arrived < std::min(f.queued - w.lag + 1, other.count)) return;
      }
      ++f.queued;
      f.unsent += f.bytes;
      push(f);
    }
  }

  void push(Flow& f) {
    constexpr std::uint64_t kPiece = 1u << 20;
    while (f.unsent > 0) {
      const auto piece = static_cast<std::uint32_t>(std::min(f.unsent, kPiece));
      const int sent = f.sender->Send(ns3::Create<ns3::Packet>(piece));
      if (sent <= 0) return;
      f.unsent -= static_cast<std::uint64_t>(sent);
    }
  }

  void room(ns3::Ptr<ns3::Socket> socket, std::uint32_t) {
    push(flows_[by_socket_.at(ns3::PeekPointer(socket))]);
  }

  void readable(ns3::Ptr<ns3::Socket> socket) {
    Flow& f = flows_[by_socket_.at(ns3::PeekPointer(socket))];
    while (const ns3::Ptr<ns3::Packet> packet = socket->Recv()) {
      f.received += packet->GetSize();
    }
    const int before = f.arrived;
    f.arrived = static_cast<int>(f.received / f.bytes);
    if (f.arrived == before) return;
    last_ = ns3::Simulator::Now().GetSeconds();
    for (std::size_t i = 0; i < flows_.size(); ++i) queue(i);
  }

  const Traffic& traffic_;
  const Transport transport_;
  ns3::NodeContainer nodes_;
  std::vector<ns3::Ipv4Address> address_;  // of each vertex, on one of its interfaces
  std::vector<Flow> flows_;
  std::map<ns3::Socket*, std::size_t> by_socket_;
  std::map<std::uint16_t, std::size_t> by_port_;
  double last_ = 0;
};

}  // namespace

double makespan(const Traffic& traffic, Transport transport) {
  return Packets(traffic, transport).run();
}

}  // namespace orrery::packet
