Place = Records = Segment = WalkLog = object
