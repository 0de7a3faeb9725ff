// Two layers with output channels and input channels in space.
Network Sample {
  Layer CONV1 {
    Type: CONV
    Stride { X: 1, Y: 1 }
    Dimensions { K: 64, C: 64, R: 3, S: 3, Y: 58, X: 58 }
    Dataflow {
      SpatialMap(1,1) K;
      TemporalMap(64,64) C;
      TemporalMap(Sz(R),Sz(R)) R;
      TemporalMap(Sz(S),Sz(S)) S;
      TemporalMap(Sz(R),1) Y;
      TemporalMap(Sz(S),1) X;
      Cluster(64, P);
      SpatialMap(1,1) C;
    }
  }
  Layer CONV2 {
    Type: CONV
    Dimensions { K: 128, C: 64, R: 1, S: 1, Y: 28, X: 28 }
    Dataflow {
      SpatialMap(1,1) K;
      TemporalMap(64,64) C;
      TemporalMap(1,1) Y;
      TemporalMap(1,1) X;
      Cluster(64, P);
      SpatialMap(1,1) C;
    }
  }
}
