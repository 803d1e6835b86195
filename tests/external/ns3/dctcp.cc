// ns-3: one DCTCP flow over CoDel that marks beyond a millisecond, the set-up of its example
// tcp-validation. Prints a line per window of data: time since the start, alpha.
//
//   dctcp rtt(us) limits(0|1) exact(0|1) duration(s)
//
// limits: whether byte queue limits (DynamicQueueLimits) keep the device's queue short, as there.
// exact: whether the receiver acknowledges, where marks begin or end, all packets before; ns-3's
// (CeState0to1, CeState1to0) leaves out the last one, and the ACK of a single mark tells nothing.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <iostream>

using namespace ns3;

class ExactDctcp : public TcpDctcp
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id =
            TypeId("ns3::ExactDctcp").SetParent<TcpDctcp>().AddConstructor<ExactDctcp>();
        return id;
    }

    ExactDctcp() = default;
    ExactDctcp(const ExactDctcp& other) : TcpDctcp(other) {}

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<ExactDctcp>(this);
    }

    void CwndEvent(Ptr<TcpSocketState> sender, const TcpSocketState::TcpCAEvent_t event) override
    {
        switch (event)
        {
        case TcpSocketState::CA_EVENT_DELAYED_ACK:
            m_held = true;
            break;
        case TcpSocketState::CA_EVENT_NON_DELAYED_ACK:
            m_held = false;
            break;
        case TcpSocketState::CA_EVENT_ECN_IS_CE:
            Tell(sender, true);
            sender->m_ecnState = TcpSocketState::ECN_CE_RCVD;
            break;
        case TcpSocketState::CA_EVENT_ECN_NO_CE:
            Tell(sender, false);
            sender->m_ecnState = TcpSocketState::ECN_IDLE;
            break;
        default:
            break;
        }
    }

  private:
    void Tell(Ptr<TcpSocketState> sender, bool marked)
    {
        if (marked != m_marked && m_held)
        {
            sender->m_sendEmptyPacketCallback(m_marked ? TcpHeader::ACK | TcpHeader::ECE
                                                       : TcpHeader::ACK);
            m_held = false;
        }
        m_marked = marked;
    }

    bool m_marked{false};
    bool m_held{false};
};

NS_OBJECT_ENSURE_REGISTERED(ExactDctcp);

void
Print(uint32_t, uint32_t, double alpha)
{
    std::cout << Simulator::Now().GetSeconds() << " " << alpha << "\n";
}

void
Connect(std::string type)
{
    Config::ConnectWithoutContext("/NodeList/0/$ns3::TcpL4Protocol/SocketList/0/CongestionOps/$" +
                                      type + "/CongestionEstimate",
                                  MakeCallback(&Print));
}

int
main(int argc, char* argv[])
{
    NS_ABORT_MSG_UNLESS(argc == 5, "dctcp rtt limits exact duration");
    const Time rtt = MicroSeconds(std::stol(argv[1]));
    const bool limits = std::stoi(argv[2]) != 0;
    const std::string type = std::stoi(argv[3]) != 0 ? "ns3::ExactDctcp" : "ns3::TcpDctcp";
    const Time duration = Seconds(std::stod(argv[4]));

    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(32768000));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(32768000));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue("On"));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName(type)));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(TcpPrrRecovery::GetTypeId()));
    Config::SetDefault("ns3::CoDelQueueDisc::UseEcn", BooleanValue(true));
    Config::SetDefault("ns3::CoDelQueueDisc::CeThreshold", TimeValue(MilliSeconds(1)));

    NodeContainer nodes; // server, router, router, client
    nodes.Create(4);
    PointToPointHelper link;
    const std::string places = limits ? "3p" : "1p";
    link.SetQueue("ns3::DropTailQueue", "MaxSize", QueueSizeValue(QueueSize(places)));
    link.SetDeviceAttribute("DataRate", StringValue("1000Mbps"));
    link.SetChannelAttribute("Delay", TimeValue(MicroSeconds(1)));
    NetDeviceContainer before = link.Install(nodes.Get(0), nodes.Get(1));
    NetDeviceContainer after = link.Install(nodes.Get(2), nodes.Get(3));
    link.SetChannelAttribute("Delay", TimeValue(rtt / 2));
    NetDeviceContainer between = link.Install(nodes.Get(1), nodes.Get(2));
    between.Get(0)->SetAttribute("DataRate", StringValue("50Mbps"));
    InternetStackHelper().Install(nodes);

    TrafficControlHelper plain;
    plain.SetRootQueueDisc("ns3::FqCoDelQueueDisc");
    plain.SetQueueLimits("ns3::DynamicQueueLimits", "HoldTime", StringValue("1ms"));
    plain.Install(before);
    plain.Install(after);
    plain.Install(between.Get(1));
    TrafficControlHelper bottleneck;
    bottleneck.SetRootQueueDisc("ns3::CoDelQueueDisc");
    if (limits)
    {
        bottleneck.SetQueueLimits("ns3::DynamicQueueLimits", "HoldTime", StringValue("1ms"));
    }
    bottleneck.Install(between.Get(0));

    Ipv4AddressHelper addresses;
    Ipv4Address target;
    std::string base[] = {"10.1.1.0", "10.1.2.0", "10.1.3.0"};
    NetDeviceContainer links[] = {before, between, after};
    for (int i = 0; i < 3; i++)
    {
        addresses.SetBase(base[i].c_str(), "255.255.255.0");
        target = addresses.Assign(links[i]).GetAddress(1);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(target, 5000));
    source.SetAttribute("MaxBytes", UintegerValue(0));
    source.Install(nodes.Get(0)).Start(Seconds(0));
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000));
    sink.Install(nodes.Get(3)).Start(Seconds(0));

    Simulator::Schedule(MilliSeconds(100), &Connect, type);
    Simulator::Stop(duration);
    Simulator::Run();
    Simulator::Destroy();
    return 0;
}
